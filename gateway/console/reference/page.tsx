/** Every operation of the API, searched, explained and tried. */
import { useLocation, useRoute } from "preact-iso";
import { useState } from "preact/hooks";
import { useLoad } from "../api/load.ts";
import { TextField } from "../parts/field.tsx";
import { Card, Page } from "../parts/page.tsx";
import { Empty, Show } from "../parts/state.tsx";
import type { Caller } from "./caller.ts";
import { type Answer, type Contract, type Operation, contractPath, loadContract, describeType } from "./document.ts";
import { Fields } from "./fields.tsx";
import { listLimits } from "./limits.ts";
import { Blocks, Prose } from "./prose.tsx";
import { Try } from "./try.tsx";

interface ReferenceProps {
  /** Path of the page, without a trailing slash. */
  readonly root: string;
  readonly caller: Caller;
}

export function ReferencePage({ root, caller }: ReferenceProps) {
  const { params } = useRoute();
  const contract = useLoad(loadContract);
  const download = (
    <a class="button" href={contractPath} target="_blank">
      openapi.json
    </a>
  );
  return (
    <Page title="API reference" lead="Printed from the contract that checks every request." actions={download}>
      <Show of={contract} lines={12}>
        {(found) => (
          <div class="reference">
            <Index root={root} operations={found.operations} current={params["id"]} />
            <Detail contract={found} id={params["id"]} caller={caller} />
          </div>
        )}
      </Show>
    </Page>
  );
}

function textOf({ operationId, method, path, summary, description, parameters, fields }: Operation): string {
  const names = [...parameters.map(({ name }) => name), ...fields];
  return `${operationId} ${method} ${path} ${summary} ${description} ${names.join(" ")}`.toLowerCase();
}

interface IndexProps {
  readonly root: string;
  readonly operations: readonly Operation[];
  readonly current: string | undefined;
}

function Index({ root, operations, current }: IndexProps) {
  const [search, setSearch] = useState("");
  const { route } = useLocation();
  const words = search.toLowerCase().split(/\s+/);
  const found = operations.filter((operation) => words.every((word) => textOf(operation).includes(word)));
  const open = (event: Event) => {
    event.preventDefault();
    if (found[0]) route(`${root}/${found[0].operationId}`);
  };
  return (
    <form class="reference-index" onSubmit={open}>
      <TextField label="Search operations" type="search" value={search} onValue={setSearch} />
      {found.length === 0 && <Empty title="Nothing found" />}
      {[...Map.groupBy(found, ({ tag }) => tag)].map(([tag, group]) => (
        <section key={tag}>
          <h2 class="nav-title">{tag}</h2>
          <ul class="nav">
            {group.map(({ operationId, method, summary }) => (
              <li key={operationId}>
                <a href={`${root}/${operationId}`} aria-current={operationId === current ? "page" : undefined}>
                  <span class={`method ${method.toLowerCase()}`}>{method}</span> {summary}
                </a>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </form>
  );
}

interface DetailProps {
  readonly contract: Contract;
  readonly id: string | undefined;
  readonly caller: Caller;
}

function Detail({ contract, id, caller }: DetailProps) {
  const operation = contract.operations.find(({ operationId }) => operationId === id) ?? contract.operations[0];
  if (!operation) return null;
  const { method, path, summary, description, manages, parameters, body, answers, failures } = operation;
  return (
    <Card key={operation.operationId}>
      <h2>{summary}</h2>
      <p class="path">
        <span class={`method ${method.toLowerCase()}`}>{method}</span> <code>/api/v1{path}</code>{" "}
        <span class="badge">{manages ? "management key" : "API key"}</span>
      </p>
      <Blocks text={description} />
      {parameters.length > 0 && <Parameters parameters={parameters} />}
      {body && (
        <section class="dialog-part">
          <h3>Body</h3>
          <Fields schema={body.schema} schemas={contract.schemas} />
        </section>
      )}
      <section class="dialog-part">
        <h3>Answers</h3>
        {[...answers, ...failures].map((answer) => (
          <AnswerView key={answer.status} answer={answer} schemas={contract.schemas} />
        ))}
      </section>
      <Try operation={operation} caller={caller} />
    </Card>
  );
}

const AnswerView = ({ answer, schemas }: { answer: Answer } & Pick<Contract, "schemas">) => (
  <details class="more">
    <summary>
      {answer.status} {answer.says.split("\n", 1)[0]}
    </summary>
    {answer.schema && <Fields schema={answer.schema} schemas={schemas} />}
    {answer.examples.map(({ summary, value }) => (
      <figure key={summary}>
        <figcaption class="hint">{summary}</figcaption>
        <pre class="json" tabIndex={0}>
          {JSON.stringify(value, null, 2)}
        </pre>
      </figure>
    ))}
  </details>
);

const Parameters = ({ parameters }: Pick<Operation, "parameters">) => (
  <section class="dialog-part">
    <h3>Parameters</h3>
    <ul class="schema">
      {parameters.map(({ name, in: place, description, required, schema }) => (
        <li key={`${place} ${name}`}>
          <code class="field-name">{name}</code>{" "}
          <span class="muted">{[place, describeType(schema), ...listLimits(schema)].join(", ")}</span>
          {required === true && <span class="badge">required</span>}
          <Prose text={description} />
        </li>
      ))}
    </ul>
  </section>
);
