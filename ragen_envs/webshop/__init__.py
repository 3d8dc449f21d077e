"""WebShop: find a product in a shop by text, and buy the right one of it."""

from ragen_envs.webshop.env import WebShopEnv, WebShopVariant

__all__ = ["WebShopEnv", "WebShopVariant"]
