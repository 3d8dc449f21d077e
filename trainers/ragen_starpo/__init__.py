"""StarPO and StarPO-S (RAGEN, arXiv 2504.20073 and 2604.06268): training of agents over turns."""
