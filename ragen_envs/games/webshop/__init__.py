"""WebShop: find a product in a shop by text, and buy it as requested."""
