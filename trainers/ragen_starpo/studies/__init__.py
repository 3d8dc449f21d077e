"""Studies: questions of the papers, each answered by runs whose verdicts are fixed beforehand."""
