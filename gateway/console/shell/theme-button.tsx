/** Switches between light and dark. */
import { Icon } from "../parts/icon.tsx";
import { switchTheme, theme } from "./theme.ts";

export const ThemeButton = () => (
  <button
    type="button"
    class="button small icon-only"
    aria-label={theme.value === "dark" ? "Light colours" : "Dark colours"}
    onClick={switchTheme}
  >
    <Icon name={theme.value === "dark" ? "sun" : "moon"} />
  </button>
);
