/** Providers: those of the configuration file, and those of the database, which can be changed here. */
import { useState } from "preact/hooks";
import { useLoad } from "../api/load.ts";
import { hasRole, session } from "../api/session.ts";
import { TestButton } from "../models/test.tsx";
import { Confirm, Dialog } from "../parts/dialog.tsx";
import { Icon } from "../parts/icon.tsx";
import { Card, Page } from "../parts/page.tsx";
import { Empty, Show } from "../parts/state.tsx";
import { Table } from "../parts/table.tsx";
import { showToast } from "../parts/toast.tsx";
import { plural } from "../parts/words.ts";
import { type ConfiguredProvider, deleteProvider, loadConfigured, textSetting } from "./data.ts";
import { NewProviderForm, ProviderForm } from "./form.tsx";

export function ProvidersPage() {
  const isOpen = session.value?.account === true && hasRole("admin");
  return isOpen ? (
    <Configured />
  ) : (
    <Page title="Providers">
      <Card>
        <Empty title="Providers are configured by management keys of the account">
          <p>
            The page <a href="/console/models">Models</a> shows how they are doing.
          </p>
        </Empty>
      </Card>
    </Page>
  );
}

function Configured() {
  const providers = useLoad(loadConfigured);
  const [opened, setOpened] = useState<ConfiguredProvider | "new">();
  const [deleted, setDeleted] = useState<ConfiguredProvider>();
  const close = () => setOpened(undefined);
  const done = (text: string) => async (provider: ConfiguredProvider) => {
    close();
    showToast(`${provider.id} ${text}, and serves ${plural(provider.models, "model")}`);
    await providers.reload();
  };
  const add = (
    <button type="button" class="button primary" onClick={() => setOpened("new")}>
      <Icon name="plus" /> Add provider
    </button>
  );
  return (
    <Page title="Providers" lead="Who serves the models. Changes are in force at once, in every process." actions={add}>
      <Card flush>
        <Show of={providers} lines={4}>
          {(rows) =>
            rows.length === 0 ? (
              <Empty title="No provider is configured" />
            ) : (
              <ProviderTable providers={rows} onEdit={setOpened} onDelete={setDeleted} />
            )
          }
        </Show>
      </Card>
      {opened === "new" && (
        <Dialog title="Add a provider" onClose={close}>
          <NewProviderForm onDone={done("is added")} onCancel={close} />
        </Dialog>
      )}
      {opened !== undefined && opened !== "new" && (
        <Dialog title={`Change ${opened.id}`} onClose={close}>
          <ProviderForm provider={opened} onDone={done("is changed")} onCancel={close} />
        </Dialog>
      )}
      {deleted && <Deletion provider={deleted} onDone={providers.reload} onClose={() => setDeleted(undefined)} />}
    </Page>
  );
}

interface DeletionProps {
  readonly provider: ConfiguredProvider;
  readonly onDone: () => unknown;
  readonly onClose: () => void;
}

function Deletion({ provider: { id, models }, onDone, onClose }: DeletionProps) {
  const remove = async () => {
    await deleteProvider(id);
    onClose();
    showToast(`${id} is deleted`);
    await onDone();
  };
  return (
    <Confirm title={`Delete ${id}?`} label="Delete provider" danger act={remove} onClose={onClose}>
      <p>
        {plural(models, "model")} {models === 1 ? "loses" : "lose"} this provider at once. Its keys are deleted and
        cannot be shown again.
      </p>
    </Confirm>
  );
}

interface TableProps {
  readonly providers: readonly ConfiguredProvider[];
  readonly onEdit: (provider: ConfiguredProvider) => void;
  readonly onDelete: (provider: ConfiguredProvider) => void;
}

const ProviderTable = ({ providers, onEdit, onDelete }: TableProps) => (
  <Table
    columns={[
      ["Provider"],
      ["Configured in", "wide"],
      ["Models", "number"],
      ["Keys", "wide"],
      ["State"],
      ["Actions", "unseen"],
    ]}
  >
    {providers.map((provider) => (
      <tr key={`${provider.source} ${provider.id}`}>
        <th scope="row">
          <strong>{textSetting(provider, "name") || provider.id}</strong>
          <span class="sub mono">{textSetting(provider, "base_url") || provider.id}</span>
        </th>
        <td class="wide">{provider.source === "file" ? "File" : "Database"}</td>
        <td class="number">{provider.models}</td>
        <td class="wide mono">{provider.api_key_ends.map((end) => `…${end}`).join(" ") || "–"}</td>
        <td>
          {provider.problem === null ? (
            <span class="badge good">In force</span>
          ) : (
            <>
              <span class="badge warn">Not in force</span>
              <span class="sub">{provider.problem}</span>
            </>
          )}
        </td>
        <td class="number">
          <div class="actions">
            {provider.problem === null && <TestButton id={provider.id} name={provider.id} />}
            {provider.source === "database" && (
              <>
                <button
                  type="button"
                  class="button small"
                  aria-label={`Change ${provider.id}`}
                  onClick={() => onEdit(provider)}
                >
                  Change
                </button>
                <button
                  type="button"
                  class="button small"
                  aria-label={`Delete ${provider.id}`}
                  onClick={() => onDelete(provider)}
                >
                  Delete
                </button>
              </>
            )}
          </div>
        </td>
      </tr>
    ))}
  </Table>
);
