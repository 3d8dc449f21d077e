"use strict";
(() => {
const byId = (id) => document.getElementById(id);
{% include "script/theme.js" %}
{% include "site_script/sort.js" %}
{% include "site_script/filters.js" %}
handleTheme();
if (byId("filters")) {
  handleSorting();
  handleFilters();
}
})();
