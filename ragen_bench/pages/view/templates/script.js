"use strict";
(() => {
{% include "script/dom.js" %}
{% include "script/theme.js" %}
{% include "script/storage.js" %}
{% include "script/filters.js" %}
{% include "script/choice.js" %}
{% include "script/refresh.js" %}
{% include "script/main.js" %}
})();
