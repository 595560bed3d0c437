/** Texts of the contract, with their words in backticks as code. */

/** A text of the contract as one paragraph. */
export const Prose = ({ text }: { text: string }) => (
  <p class="prose">
    <Inline text={text} />
  </p>
);

/** Paragraphs and lists: blank lines separate them, and a dash begins each entry of a list. */
export const Blocks = ({ text }: { text: string }) => (
  <>
    {text.split("\n\n").map((block) =>
      block.startsWith("- ") ? (
        <ul key={block} class="prose">
          {block
            .slice(2)
            .split("\n- ")
            .map((entry) => (
              <li key={entry}>
                <Inline text={entry} />
              </li>
            ))}
        </ul>
      ) : (
        <Prose key={block} text={block} />
      ),
    )}
  </>
);

const Inline = ({ text }: { text: string }) => (
  <>{text.split("`").map((part, n) => (n % 2 === 1 ? <code key={n}>{part}</code> : part))}</>
);
