"use strict";
(() => {
const byId = (id) => document.getElementById(id);
{% include "script/theme.js" %}
{% include "script/sort.js" %}
{% include "script/filters.js" %}
handleTheme();
if (byId("filters")) {
  handleSorting();
  handleFilters();
}
})();
