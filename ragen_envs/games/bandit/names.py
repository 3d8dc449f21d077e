"""The names of the two arms, and the part of the instance space that each belongs to.

A steady name suggests small certain payoffs, a bold one rare large payoffs. Each name belongs to
one part, so the name of a held-out arm occurs in no training instance.
"""

from __future__ import annotations

import hashlib


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


STEADY = _words("""
    Accountant Actuary Almanac Anchor Archivist Armchair Badger Baker Barley Basement Beaver
    Bicycle Bookkeeper Botanist Bungalow Camel Carpenter Cartographer Cellar Clerk Cobbler
    Cottage Cow Curator Deposit Donkey Dormouse Farmer Ferry Florist Gardener Granary Granite
    Harbour Hearth Hedgehog Heirloom Hen Housekeeper Janitor Journal Kettle Koala Ladder Lamb
    Lantern Ledger Librarian Lighthouse Loaf Mailman Meadow Mill Miller Mortgage Mule Nanny
    Notary Nurse Oak Orchard Ox Pantry Pension Pharmacist Phoenix Pigeon Plumber Porridge Potter
    Quilt Registrar Sandal Savings Scribe Secretary Sexton Shepherd Sloth Snail Sofa Sparrow
    Stable Tailor Tea Teacher Thrift Tortoise Tractor Tram Typist Umbrella Vault Warden Weaver
    Wheelbarrow Wool
""")
BOLD = _words("""
    Acrobat Adventurer Arsonist Astronaut Avalanche Bandit Bomber Boxer Buccaneer Bullfighter
    Casino Cheetah Cobra Comet Conqueror Corsair Cyclone Daredevil Dice Diver Dragon Duelist
    Dynamite Eagle Earthquake Engineer Explorer Falcon Firework Fighter Freebooter Gambler
    Geyser Gladiator Glider Hacker Hawk Highwayman Hunter Hurricane Hydra Inventor Jackpot
    Jaguar Jester Joker Juggler Kraken Lava Leopard Lightning Lion Lottery Magician Maverick
    Mercenary Meteor Mountaineer Mutineer Nomad Outlaw Panther Paratrooper Pilot Pioneer Pirate
    Prospector Racer Raider Rebel Rocket Roulette Sailor Scorpion Shark Skydiver Smuggler
    Speculator Spy Stallion Stormchaser Stuntman Surfer Swashbuckler Thief Thunder Tiger Tornado
    Trader Trapeze Tsunami Vagabond Viking Viper Volcano Whirlwind Wildcat
""")

_SALT = "bandit-12204"
_PARTS = ("val", "test", "sealed", "train", "train")


def part_of(name: str) -> str:
    """Return the part that a name belongs to: one fifth each val, test and sealed, the rest train.

    The salt was chosen so that RAGEN's own names (arXiv 2504.20073) fall as they do there: Teacher
    and Engineer, Phoenix and Dragon in train, Librarian and Trader in test.
    """
    return _PARTS[hashlib.sha256(f"{_SALT}/{name}".encode()).digest()[0] % len(_PARTS)]
