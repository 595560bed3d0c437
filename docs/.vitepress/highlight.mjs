/** Writes the colours of code as classes: the content security policy of the gateway refuses styles in attributes. */
import { createCssVariablesTheme } from "shiki/core";

export const theme = createCssVariablesTheme({ name: "sluice", variablePrefix: "--code-", fontStyle: false });

/** A transformer of Shiki: a colour `var(--code-token-string)` becomes the class `token-string`. */
export const colorsToClasses = {
  name: "colors-to-classes",
  span(node) {
    const { style } = node.properties;
    const [, name] = /var\(--code-([\w-]+)\)/.exec(style ?? "") ?? [];
    delete node.properties.style;
    if (name !== undefined && name !== "foreground") this.addClassToHast(node, name);
  },
  pre(node) {
    delete node.properties.style;
  },
};
