"""BanditMultiPull: find the best of several arms in many pulls."""
