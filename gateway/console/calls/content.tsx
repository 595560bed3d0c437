/** Captured prompt and answer. Loaded on demand, because every reading goes into the audit log. */
import { useState } from "preact/hooks";
import type { Schemas } from "../api/client.ts";
import { useLoad } from "../api/load.ts";
import { CopyButton } from "../parts/copy.tsx";
import { Show } from "../parts/state.tsx";
import { formatCount, formatDateTime } from "../parts/words.ts";
import { loadContent } from "./data.ts";

type Text = Schemas["GenerationContent"]["request"];

export function ContentPart({ id, expiresAt }: { id: string; expiresAt: string }) {
  const [isShown, setShown] = useState(false);
  return (
    <section class="dialog-part">
      <h3>Prompt and answer</h3>
      <p class="hint">Stored until {formatDateTime(expiresAt)}. The audit log keeps who reads them.</p>
      {isShown ? (
        <Content id={id} />
      ) : (
        <button type="button" class="button" onClick={() => setShown(true)}>
          Show what was sent
        </button>
      )}
    </section>
  );
}

function Content({ id }: { id: string }) {
  const content = useLoad(() => loadContent(id), [id]);
  return (
    <Show of={content}>
      {({ request, answer }) => (
        <>
          <Captured title="Request" captured={request} />
          {answer ? <Captured title="Answer" captured={answer} /> : <p>The client got an error and no answer.</p>}
        </>
      )}
    </Show>
  );
}

const Captured = ({
  title,
  captured: { text, bytes, is_truncated: isTruncated },
}: {
  title: string;
  captured: Text;
}) => (
  <>
    <p class="facts-line">
      <strong>{title}</strong>
      <span class="muted">
        {formatCount(bytes)} bytes{isTruncated && ", of which the end was not kept"}
      </span>
      <CopyButton text={text} />
    </p>
    <pre class="json" tabIndex={0}>
      {text}
    </pre>
  </>
);
