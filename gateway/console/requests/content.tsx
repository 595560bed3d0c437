/** Captured prompt and answer as a conversation. Loaded on demand, because every reading goes into the audit log. */
import { useState } from "preact/hooks";
import { useLoad } from "../api/load.ts";
import { hasRole } from "../api/session.ts";
import { CopyButton } from "../parts/copy.tsx";
import { Card } from "../parts/page.tsx";
import { Empty, Show } from "../parts/state.tsx";
import { formatCount, formatDateTime } from "../parts/words.ts";
import { handOver } from "../playground/handed.ts";
import { type Conversation, type Message, type MessagePart, readAnswer, readConversation } from "./conversation.ts";
import { type CapturedContent, loadContent } from "./data.ts";

type Captured = CapturedContent["request"];

export function ContentCard({ id, expiresAt }: { id: string; expiresAt: string | null }) {
  const [isShown, setShown] = useState(false);
  return (
    <Card title="Prompt and answer">
      {expiresAt === null ? (
        <p class="hint">
          Not captured. The setting “Capture content” of a key stores its prompts and answers, where the configuration
          file has <code>capture</code>.
        </p>
      ) : (
        <>
          <p class="hint">Stored until {formatDateTime(expiresAt)}. The audit log keeps who reads them.</p>
          {isShown ? (
            <Content id={id} />
          ) : (
            <button type="button" class="button" onClick={() => setShown(true)}>
              Show prompt and answer
            </button>
          )}
        </>
      )}
    </Card>
  );
}

function Content({ id }: { id: string }) {
  const content = useLoad(() => loadContent(id), [id]);
  return (
    <Show of={content}>
      {({ request, answer }) => {
        const conversation = readConversation(request.text);
        const answered = answer ? readAnswer(answer.text) : undefined;
        return (
          <>
            {conversation ? <Asked conversation={conversation} /> : <p>The request is shown as it was sent.</p>}
            {answered && <Messages of={answered} />}
            {!answer && <p class="note note-warn">The client got an error and no answer.</p>}
            <AsSent title="Request as sent" captured={request} isOpen={!conversation} />
            {answer && <AsSent title="Answer as sent" captured={answer} isOpen={!answered} />}
          </>
        );
      }}
    </Show>
  );
}

const Asked = ({ conversation }: { conversation: Conversation }) => (
  <>
    {hasRole("operator") && (
      <p>
        <a class="button small" href="/console/playground" onClick={() => handOver(conversation)}>
          Open in the playground
        </a>
      </p>
    )}
    {conversation.tools.length > 0 && (
      <details class="more">
        <summary>Tools offered ({conversation.tools.length})</summary>
        <ul class="tools">
          {conversation.tools.map(({ name, description }, n) => (
            <li key={n}>
              <code>{name}</code> <span class="muted">{description}</span>
            </li>
          ))}
        </ul>
      </details>
    )}
    {conversation.messages.length === 0 ? <Empty title="No messages" /> : <Messages of={conversation.messages} />}
  </>
);

const Messages = ({ of: messages }: { of: readonly Message[] }) => (
  <ol class="messages">
    {messages.map(({ role, parts }, n) => (
      <li key={n} class={`message ${role === "user" ? "from-user" : ""}`}>
        <p class="message-role">{role}</p>
        {parts.map((part, at) => (
          <Part key={at} part={part} />
        ))}
      </li>
    ))}
  </ol>
);

function Part({ part }: { part: MessagePart }) {
  switch (part.kind) {
    case "text":
      return <p class="answer">{part.text}</p>;
    case "reasoning":
      return (
        <details class="more">
          <summary>Reasoning</summary>
          <p class="answer muted">{part.text}</p>
        </details>
      );
    case "call":
      return (
        <>
          <p>
            Calls <code>{part.name}</code> <span class="muted mono">{part.id}</span>
          </p>
          <Code text={part.input} label={`Arguments of ${part.name}`} />
        </>
      );
    case "result":
      return (
        <>
          <p>
            Result <span class="muted mono">{part.id}</span>
          </p>
          <Code text={part.text} label="Result of a tool" />
        </>
      );
    case "picture":
      return <Picture url={part.url} />;
    case "other":
      return <Code text={part.text} label={part.name} />;
  }
}

/**
 * A picture contained in the captured content. For a picture on another server only the address is shown, since loading it would tell the server who
 * reads.
 */
const Picture = ({ url }: { url: string }) =>
  url.startsWith("data:image/") ? (
    <img class="picture" src={url} alt="Sent with the request" />
  ) : (
    <p class="breakable">
      Picture at <span class="mono">{url.slice(0, 500)}</span>
    </p>
  );

const Code = ({ text, label }: { text: string; label: string }) => (
  <pre class="json" tabIndex={0} role="region" aria-label={label}>
    {text}
  </pre>
);

interface SentProps {
  readonly title: string;
  readonly captured: Captured;
  readonly isOpen: boolean;
}

const AsSent = ({ title, captured: { text, bytes, is_truncated: isTruncated }, isOpen }: SentProps) => (
  <details class="more" open={isOpen}>
    <summary>
      {title}, {formatCount(bytes)} bytes{isTruncated && ", of which the end was not kept"}
    </summary>
    <CopyButton text={text} />
    <Code text={text} label={title} />
  </details>
);
