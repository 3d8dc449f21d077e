"use strict";
(() => {
{% include "script/dom.js" %}
{% include "script/store.js" %}
{% include "script/text.js" %}
{% include "script/board.js" %}
{% include "script/reading.js" %}
{% include "script/turn.js" %}
{% include "script/opponent.js" %}
{% include "script/sent.js" %}
{% include "script/list.js" %}
{% include "script/filters.js" %}
{% include "script/viewer.js" %}
{% include "script/keys.js" %}
{% include "script/theme.js" %}
{% include "script/main.js" %}
})();
