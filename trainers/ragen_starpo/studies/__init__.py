"""Studies of the papers' claims on many seeds at once, judged by rules fixed beforehand."""
