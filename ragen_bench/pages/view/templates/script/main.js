handleTheme();
if (byId("runs")) {
  handleFilters();
  handleChoice();
  handleRefresh();
}
