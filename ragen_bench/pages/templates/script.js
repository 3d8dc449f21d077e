"use strict";
(() => {
const byId = (id) => document.getElementById(id);
{% include "script/theme.js" %}
handleTheme();
})();
