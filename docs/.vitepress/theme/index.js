/** The default theme of VitePress with fonts of the system, since the site loads nothing from elsewhere, and a page for unknown addresses. */
import { h } from "vue";
import { useData } from "vitepress";
import theme from "vitepress/theme-without-fonts";
import "./style.css";

const NotFound = () =>
  h("main", { class: "missing vp-doc" }, [
    h("h1", "There is no such page"),
    h("p", [
      "The ",
      h("a", { href: "/docs/" }, "index"),
      " lists all pages; Ctrl+K searches them. Operations of the API are in the ",
      h("a", { href: "/docs/api", target: "_self" }, "API reference"),
      ".",
    ]),
  ]);

/** A link to the Markdown of the page, for language models and for copying. */
const Source = {
  setup() {
    const { page, site } = useData();
    return () =>
      h(
        "p",
        { class: "source" },
        h("a", { href: `${site.value.base}${page.value.relativePath}`, target: "_self" }, "This page as Markdown"),
      );
  },
};

const slots = { "not-found": () => h(NotFound), "doc-footer-before": () => h(Source) };

export default { extends: theme, Layout: () => h(theme.Layout, undefined, slots) };
