/** Copies a text, with a confirmation. */
import { useState } from "preact/hooks";
import { Icon } from "./icon.tsx";

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 2_000);
  };
  return (
    <button type="button" class="button small" onClick={() => void copy()}>
      <Icon name={copied ? "check" : "copy"} size={16} />
      <span aria-live="polite">{copied ? "Copied" : label}</span>
    </button>
  );
}
