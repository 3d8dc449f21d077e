"""WebShop: find a product in a shop by text, and buy the right one of it."""
