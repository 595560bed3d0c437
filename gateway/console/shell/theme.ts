/** The theme, light or dark: the system's, until a person chooses one. */
import { signal } from "@preact/signals";

type Theme = "light" | "dark";

const name = "sluice-theme";
const stored = localStorage.getItem(name);
const systemTheme: Theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";

export const theme = signal<Theme>(stored === "light" || stored === "dark" ? stored : systemTheme);
if (stored !== null) document.documentElement.dataset["theme"] = theme.peek();

export function switchTheme(): void {
  theme.value = theme.value === "dark" ? "light" : "dark";
  document.documentElement.dataset["theme"] = theme.value;
  localStorage.setItem(name, theme.value);
}
