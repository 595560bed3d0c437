/** Every operation of the API, searched, explained and tried. */
import { useLocation, useRoute } from "preact-iso";
import { useState } from "preact/hooks";
import { useLoad } from "../api/load.ts";
import { TextField } from "../parts/field.tsx";
import { Card, Page } from "../parts/page.tsx";
import { Empty, Show } from "../parts/state.tsx";
import { type Contract, type Operation, contractPath, loadContract, typeWords } from "./document.ts";
import { Fields } from "./fields.tsx";
import { Prose } from "./prose.tsx";
import { Try } from "./try.tsx";

export function ReferencePage() {
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
            <Index operations={found.operations} current={params["id"]} />
            <Detail contract={found} id={params["id"]} />
          </div>
        )}
      </Show>
    </Page>
  );
}

const textOf = ({ operationId, method, path, summary, description }: Operation): string =>
  `${operationId} ${method} ${path} ${summary} ${description}`.toLowerCase();

function Index({ operations, current }: { operations: readonly Operation[]; current: string | undefined }) {
  const [search, setSearch] = useState("");
  const { route } = useLocation();
  const words = search.toLowerCase().split(/\s+/);
  const found = operations.filter((operation) => words.every((word) => textOf(operation).includes(word)));
  const open = (event: Event) => {
    event.preventDefault();
    if (found[0]) route(`/console/reference/${found[0].operationId}`);
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
                <a
                  href={`/console/reference/${operationId}`}
                  aria-current={operationId === current ? "page" : undefined}
                >
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

function Detail({ contract, id }: { contract: Contract; id: string | undefined }) {
  const operation = contract.operations.find(({ operationId }) => operationId === id) ?? contract.operations[0];
  if (!operation) return null;
  const { method, path, summary, description, manages, parameters, body, answers } = operation;
  return (
    <Card key={operation.operationId}>
      <h2>{summary}</h2>
      <p class="path">
        <span class={`method ${method.toLowerCase()}`}>{method}</span> <code>/api/v1{path}</code>{" "}
        <span class="badge">{manages ? "management key" : "API key"}</span>
      </p>
      {description.split("\n\n").map((text) => (
        <Prose key={text} text={text} />
      ))}
      {parameters.length > 0 && <Parameters parameters={parameters} />}
      {body && (
        <section class="dialog-part">
          <h3>Body</h3>
          <Fields schema={body.schema} schemas={contract.schemas} />
        </section>
      )}
      <section class="dialog-part">
        <h3>Answers</h3>
        {answers.map(({ status, says, schema }) =>
          schema ? (
            <details key={status} class="more">
              <summary>
                {status} {says}
              </summary>
              <Fields schema={schema} schemas={contract.schemas} />
            </details>
          ) : null,
        )}
        <p class="hint">
          Failures:{" "}
          {answers
            .filter(({ schema }) => !schema)
            .map(({ status }) => status)
            .join(", ")}
        </p>
      </section>
      <Try operation={operation} />
    </Card>
  );
}

const Parameters = ({ parameters }: Pick<Operation, "parameters">) => (
  <section class="dialog-part">
    <h3>Parameters</h3>
    <ul class="schema">
      {parameters.map(({ name, in: place, description, required, schema }) => (
        <li key={`${place} ${name}`}>
          <code class="field-name">{name}</code>{" "}
          <span class="muted">
            {place}, {typeWords(schema)}
          </span>
          {required === true && <span class="badge">required</span>}
          <Prose text={description} />
        </li>
      ))}
    </ul>
  </section>
);
