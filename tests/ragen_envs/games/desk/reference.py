"""What a request asks for, by a slow reading that shares no code with the planner or the judge.

Offices are read as plain dictionaries, and every small change is tried.
"""

from itertools import product


def rows(office):
    """Return the records of an office by their ids, each as a dictionary."""
    tables = {"C": "contacts", "M": "mails", "E": "events", "O": "orders", "F": "files"}
    return {
        f"{letter}{n}": record._asdict()
        for letter, table in tables.items()
        for n, record in enumerate(getattr(office, table), 1)
    }


class Sight:
    """An office, and what things of it look like so and so."""

    def __init__(self, office):
        self.things = rows(office)

    def where(self, letter, **wanted):
        """Return the ids in a table whose fields have one of the wanted values each."""
        return {
            thing
            for thing, row in self.things.items()
            if thing[0] == letter and all(row[name] in allowed for name, allowed in wanted.items())
        }

    def column(self, name, ids):
        """Return what a field holds in some records."""
        return {self.things[thing][name] for thing in ids}

    def people(self, **wanted):
        """Return addresses."""
        return self.column("address", self.where("C", **wanted))

    def said(self, fact, source):
        """Return what texts say."""
        texts = [self.things[thing]["facts"] for thing in self.fits(source)]
        return {stated for facts in texts for name, stated in facts if name == fact}

    def fits(self, value):
        """Return the set of all that a value of a request may stand for."""
        return {value} if isinstance(value, str) else KINDS[value.kind](self, *value.parts)


KINDS = {
    "role": lambda o, company, role: o.people(company={company}, role={role}),
    "sender": lambda o, mail: o.column("sender", o.fits(mail)),
    "guest": lambda o, event: o.column("guest", o.fits(event)),
    "supplier": lambda o, order: o.people(company=o.column("company", o.fits(order))),
    "title": lambda o, title: o.where("E", title={title}),
    "with": lambda o, person: o.where("E", guest=o.fits(person)),
    "slot": lambda o, day, time: o.where("E", day={day}, time={time}),
    "item": lambda o, item: o.where("O", item={item}),
    "order from": lambda o, company: o.where("O", company={company}),
    "order in": lambda o, source: o.where("O", item=o.said("item", source)),
    "file": lambda o, name: o.where("F", name={name}),
    "file in": lambda o, source: o.where("F", name=o.said("file", source)),
    "subject": lambda o, subject: o.where("M", subject={subject}),
    "mail from": lambda o, person: o.where("M", sender=o.fits(person)),
    "said": lambda o, fact, source: o.said(fact, source),
    "asked": lambda _, __, secret: {secret},
}


def fits(office, value):
    """Return the set of all that a value of a request may stand for."""
    return Sight(office).fits(value)


def meets(start, steps):
    """Return a function that says of an office whether all steps are done in it, in any reading."""
    readings = [
        (step.tool, [*product(*(sorted(fits(start, value)) for value in step.values))])
        for step in steps
    ]
    before = rows(start).keys()

    def met(end):
        now = rows(end)
        new = [now[thing] for thing in now.keys() - before]
        return all(
            any(DONE[tool](now, new, end.sent, *values) for values in possible)
            for tool, possible in readings
        )

    return met


DONE = {
    "send": lambda now, _, sent, to, thing: (to, thing) in {tuple(mail) for mail in sent},
    "reply": lambda now, _, __, mail, answer: now[mail]["answer"] == answer,
    "schedule": lambda _, new, __, title, guest, day, time: (
        {"title": title, "guest": guest, "day": day, "time": time, "cancelled": False} in new
    ),
    "move": lambda now, _, __, event, day, time: (
        (now[event]["day"], now[event]["time"], now[event]["cancelled"]) == (day, time, False)
    ),
    "cancel": lambda now, _, __, thing: now[thing]["cancelled"],
    "change_order": lambda now, _, __, order, boxes: (
        (now[order]["boxes"], now[order]["cancelled"]) == (int(boxes), False)
    ),
    "move_file": lambda now, _, __, file, folder: now[file]["folder"] == folder,
    "enter": lambda now, _, __, file, thing: thing in now[file]["entries"],
    "add_contact": lambda _, new, __, name, company, address: any(
        (row.get("name"), row.get("company"), row.get("address")) == (name, company, address)
        for row in new
    ),
}
"""Whether a step is done: of the records, the new ones, what was sent, and the step's values."""


def small_changes(office, steps):
    """Return the calls, as (tool, *values), with all values that a small office and a request know.

    Of days, hours, numbers, folders and titles: those that the request names, and one more.
    """
    things, named = rows(office), _named(office, steps)
    facts = [dict(row["facts"]) for row in things.values() if "facts" in row]
    people = sorted(row["address"] for thing, row in things.items() if thing[0] == "C")
    of = {letter: [thing for thing in things if thing[0] == letter] for letter in "CMEOF"}
    days, times = named["day"] | {"Friday"}, named["time"] | {"16:00"}
    when = list(product(sorted(days), sorted(times)))
    newcomers = [(f["name"], f["company"], f["address"]) for f in facts if "name" in f]
    calls = [
        *product(["send"], people, things),
        *product(["reply"], of["M"], ["yes", "no"]),
        *(("schedule", t, p, *w) for t in named["title"] | {"lunch"} for p in people for w in when),
        *(("move", event, *w) for event in of["E"] for w in when),
        *product(["cancel"], of["E"] + of["O"]),
        *product(["change_order"], of["O"], sorted(named["boxes"] | {"7"})),
        *product(["move_file"], of["F"], sorted(named["folder"] | {"travel"})),
        *product(["enter"], of["F"], things),
        *(("add_contact", *newcomer) for newcomer in newcomers),
    ]
    return sorted(calls)


def _named(office, steps):
    """Return the values that a request names."""
    names = {
        "move": ("", "day", "time"),
        "schedule": ("title", "", "day", "time"),
        "change_order": ("", "boxes"),
        "move_file": ("", "folder"),
    }
    named = {"day": set(), "time": set(), "boxes": set(), "folder": set(), "title": set()}
    for step in steps:
        for name, value in zip(names.get(step.tool, ()), step.values, strict=False):
            if name:
                named[name] |= fits(office, value)
    return named
