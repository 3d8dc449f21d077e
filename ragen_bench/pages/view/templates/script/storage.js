// Stores a tab's filters and selection while another of its pages is open.

const STORAGE_PREFIX = "ragen-view";

function saveSetting(name, value) {
  tryStorage(() => sessionStorage.setItem(`${STORAGE_PREFIX}-${name}`, JSON.stringify(value)));
}

const loadSetting = (name) => JSON.parse(tryStorage(() => sessionStorage.getItem(`${STORAGE_PREFIX}-${name}`)) ?? "null");
