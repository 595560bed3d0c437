/** A text of the contract, with its words in backticks as code. */
export const Prose = ({ text }: { text: string }) => (
  <p class="prose">{text.split("`").map((part, n) => (n % 2 === 1 ? <code key={n}>{part}</code> : part))}</p>
);
