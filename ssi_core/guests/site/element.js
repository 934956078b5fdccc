// <ssi-search>: a search box that answers while one types. It is a combobox with a list below it, as
// the ARIA practices describe it. `placeholder`, `label` and `results` (their number) are attributes.
//
// Its colours are those of the system and follow `color-scheme`; a site gives its own by
// `ssi-search { color-scheme: dark; --ssi-accent: teal; font-size: 0.9rem }`.
(() => {
  "use strict";
  if (customElements.get("ssi-search")) return;

  const STYLE = `
    :host { display: block; position: relative; color-scheme: light dark; font: inherit;
      --ssi-accent: LinkText; --ssi-line: color-mix(in srgb, CanvasText 25%, Canvas) }
    :host([hidden]), [hidden] { display: none }
    input { box-sizing: border-box; width: 100%; padding: 0.5em 0.75em; font: inherit;
      color: CanvasText; background: Canvas; border: 1px solid var(--ssi-line); border-radius: 0.5em }
    input:focus { outline: 2px solid var(--ssi-accent); outline-offset: 1px }
    .results { position: absolute; inset-inline-start: 0; z-index: 1000; box-sizing: border-box;
      min-width: 100%; width: min(36em, 95vw); max-height: min(32em, 75vh); overflow-y: auto;
      overscroll-behavior: contain; margin-block-start: 0.25em; color: CanvasText; background: Canvas;
      text-align: start; border: 1px solid var(--ssi-line); border-radius: 0.5em;
      box-shadow: 0 0.5em 1.5em rgb(0 0 0 / 0.25) }
    .results.at-end { inset-inline: auto 0 }
    [role="listbox"] { margin: 0; padding: 0.25em; list-style: none }
    a { display: block; padding: 0.5em 0.75em; border-radius: 0.35em; color: inherit;
      text-decoration: none; overflow-wrap: anywhere }
    [aria-selected="true"] a, a:hover { background: color-mix(in srgb, var(--ssi-accent) 14%, Canvas) }
    .title { display: block; font-weight: 600; color: var(--ssi-accent) }
    .snippet { display: block; font-size: 0.875em; line-height: 1.4;
      color: color-mix(in srgb, CanvasText 80%, Canvas) }
    mark { background: none; color: CanvasText; font-weight: 600 }
    .status { margin: 0; padding: 0.75em 1em; font-size: 0.875em }
    .unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
    @media (max-width: 30em) {
      .results, .results.at-end { position: fixed; inset-inline: 0.5em; width: auto; min-width: 0 }
      input { font-size: max(1em, 16px) } /* below that, phones zoom in */
    }
    @media (forced-colors: active) { [aria-selected="true"] a { outline: 2px solid Highlight } }`;

  const sheet = new CSSStyleSheet(); // not a <style>, which a content security policy may forbid
  sheet.replaceSync(STYLE);

  function element(name, attributes, ...inner) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...inner);
    return made;
  }

  class SsiSearch extends HTMLElement {
    #input = element("input", {
      type: "search", role: "combobox", autocomplete: "off", autocapitalize: "none",
      spellcheck: "false", dir: "auto", enterkeyhint: "go", "aria-autocomplete": "list",
      "aria-expanded": "false", "aria-controls": "list",
    }); // prettier-ignore
    #list = element("ul", { id: "list", role: "listbox" });
    #nothing = element("p", { class: "status" });
    #results = element("div", { class: "results", hidden: "" }, this.#list, this.#nothing);
    #status = element("div", { class: "unseen", role: "status" });
    #chosen = -1;
    #asked = 0; // the number of the last question: answers to earlier ones are dropped

    constructor() {
      super();
      const root = this.attachShadow({ mode: "open", delegatesFocus: true });
      root.adoptedStyleSheets = [sheet];
      root.append(this.#input, this.#results, this.#status);
      this.#input.addEventListener("input", (event) => event.isComposing || this.#ask());
      this.#input.addEventListener("compositionend", () => this.#ask());
      this.#input.addEventListener("keydown", (event) => this.#press(event));
      this.#input.addEventListener("focus", () => {
        ssi.open().catch(() => {}); // the manifest is there when the first letter comes
        this.#show(this.#list.children.length > 0);
      });
      this.addEventListener("focusout", (event) => {
        if (!this.contains(event.relatedTarget)) this.#show(false);
      });
      // A press on a result must not take the focus, which would close the list before the click.
      this.#results.addEventListener("mousedown", (event) => event.preventDefault());
    }

    static observedAttributes = ["placeholder", "label"];

    attributeChangedCallback() {
      this.#name();
    }

    connectedCallback() {
      this.#name();
      document.addEventListener("keydown", this.#slash);
    }

    disconnectedCallback() {
      document.removeEventListener("keydown", this.#slash);
    }

    #name() {
      const label = this.getAttribute("label") || "Search";
      this.#input.setAttribute("aria-label", label);
      this.#list.setAttribute("aria-label", label);
      this.#input.placeholder = this.getAttribute("placeholder") ?? "Search";
    }

    // "/" goes to the box, unless one is typing somewhere.
    #slash = (event) => {
      const at = event.composedPath()[0];
      const typing = at.isContentEditable || /^(input|textarea|select)$/i.test(at.tagName || "");
      if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      this.#input.focus();
    };

    #press(event) {
      if (event.isComposing) return;
      const links = this.#list.querySelectorAll("a");
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        if (!links.length) return;
        event.preventDefault();
        this.#show(true);
        const step = event.key === "ArrowDown" ? 1 : -1;
        const from = this.#chosen < 0 && step < 0 ? 0 : this.#chosen;
        this.#choose((from + step + links.length) % links.length);
      } else if (event.key === "Enter") {
        const link = links[Math.max(0, this.#chosen)];
        if (!link || this.#results.hidden) return;
        event.preventDefault();
        link.click();
      } else if (event.key === "Escape") {
        event.preventDefault();
        if (this.#results.hidden) this.#input.value = "";
        this.#show(false);
      }
    }

    async #ask() {
      const asked = ++this.#asked;
      const text = this.#input.value;
      if (!text.trim()) return this.#answer([], "");
      const number = Number(this.getAttribute("results")) || 8;
      try {
        const hits = await ssi.search(text, number, true);
        if (asked !== this.#asked) return;
        const said = hits.length === 1 ? "1 page" : `${hits.length || "No"} pages`;
        this.#answer(hits, said);
      } catch (error) {
        console.error(error);
        if (asked === this.#asked) this.#answer([], "The search does not load.");
      }
    }

    // Titles and texts are put in as text: whatever a page calls itself, it is no markup here.
    #answer(hits, said) {
      this.#list.replaceChildren(
        ...hits.map(({ title, url, snippet }, place) => {
          const shown = element("span", { class: "title", dir: "auto" }, title);
          const parts = snippet.map((text, i) => (i % 2 ? element("mark", {}, text) : text));
          const below = element("span", { class: "snippet", dir: "auto" }, ...parts);
          const link = element("a", { href: url, tabindex: "-1" }, shown, below);
          const option = { id: `option-${place}`, role: "option", "aria-selected": "false" };
          return element("li", option, link);
        }),
      );
      this.#list.hidden = !hits.length;
      this.#nothing.hidden = Boolean(hits.length);
      this.#nothing.textContent = this.#status.textContent = said;
      this.#choose(-1);
      this.#show(Boolean(said));
    }

    #choose(place) {
      this.#chosen = place;
      [...this.#list.children].forEach((option, i) => {
        option.setAttribute("aria-selected", String(i === place));
        if (i === place) option.scrollIntoView({ block: "nearest" });
      });
      if (place < 0) this.#input.removeAttribute("aria-activedescendant");
      else this.#input.setAttribute("aria-activedescendant", `option-${place}`);
    }

    // The list begins where the box does, or, where there is no room for it, ends where that ends.
    #show(open) {
      this.#results.hidden = !open;
      this.#results.classList.remove("at-end");
      const { left, right } = this.#results.getBoundingClientRect();
      if (left < 0 || right > document.documentElement.clientWidth) {
        this.#results.classList.add("at-end");
      }
      this.#input.setAttribute("aria-expanded", String(open));
    }
  }

  customElements.define("ssi-search", SsiSearch);
})();
