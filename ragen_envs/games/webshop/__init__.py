"""WebShop: find a product in a shop by text, and buy it as it was asked for."""

from ragen_envs.games.webshop.env import WebShopEnv, WebShopVariant

__all__ = ["WebShopEnv", "WebShopVariant"]
