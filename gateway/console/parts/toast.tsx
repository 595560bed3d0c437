/** Short confirmations at the edge of the page. */
import { signal } from "@preact/signals";
import { Icon } from "./icon.tsx";

const shown = signal("");
let timer: ReturnType<typeof setTimeout> | undefined;

export function showToast(text: string): void {
  shown.value = text;
  clearTimeout(timer);
  timer = setTimeout(() => (shown.value = ""), 4_000);
}

export const Toast = () => (
  <div class="toast-place" role="status">
    {shown.value !== "" && (
      <div class="toast">
        <Icon name="check" size={16} />
        {shown.value}
      </div>
    )}
  </div>
);
