/** Adds a provider to the database, or changes one. */
import { useState } from "preact/hooks";
import { vendors } from "../gen/vendors.ts";
import { ActionForm } from "../parts/dialog.tsx";
import { FoundServers } from "./found.tsx";
import { AreaField, SelectField, TextField } from "../parts/field.tsx";
import {
  type ConfiguredProvider,
  type NewProvider,
  type ProviderChange,
  createProvider,
  namedModels,
  textSetting,
  updateProvider,
} from "./data.ts";

/** The choice "another server", which is none of the known vendors. */
const otherServer = "";

const dialects = [
  ["chat", "Chat completions"],
  ["responses", "Responses"],
  ["messages", "Messages"],
  ["gemini", "Gemini"],
  ["cohere", "Cohere"],
] as const;

interface FormProps {
  /** Called with the provider after the change. */
  readonly onDone: (provider: ConfiguredProvider) => unknown;
  readonly onCancel?: () => void;
}

const linesOf = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

const keyHint = "Stored encrypted. Only its last four characters are shown later.";

export function NewProviderForm({ onDone, ...props }: FormProps) {
  const [vendor, setVendor] = useState<string>(vendors[0]?.[0] ?? otherServer);
  const [key, setKey] = useState("");
  const [id, setId] = useState("");
  const [dialect, setDialect] = useState("chat");
  const [url, setUrl] = useState("");
  const [models, setModels] = useState("");
  const keys = key.trim() === "" ? {} : { api_keys: [key.trim()] };
  const body =
    vendor === otherServer
      ? { id: id.trim(), dialect, base_url: url.trim(), models: linesOf(models), ...keys }
      : { id: vendor, vendor, known_models: true, ...keys };
  return (
    <>
      <FoundServers onDone={onDone} />
      <ActionForm
        label="Add provider"
        act={async () => onDone(await createProvider(body as NewProvider))}
        needs="admin"
        {...props}
      >
        <SelectField
          label="Provider"
          value={vendor}
          onValue={setVendor}
          options={[...vendors, [otherServer, "Another server"]]}
        />
        {vendor === otherServer && (
          <>
            <TextField label="Id" hint="Slugs of its models begin with it." value={id} onValue={setId} required />
            <SelectField label="Format" value={dialect} onValue={setDialect} options={dialects} />
            <TextField label="Base URL" value={url} onValue={setUrl} required placeholder="http://127.0.0.1:11434/v1" />
            <AreaField
              label="Models"
              hint="Names at the provider, one in each line."
              value={models}
              onValue={setModels}
              required
            />
          </>
        )}
        <TextField label="API key" hint={keyHint} type="password" value={key} onValue={setKey} />
      </ActionForm>
    </>
  );
}

export function ProviderForm({ provider, onDone, ...props }: FormProps & { readonly provider: ConfiguredProvider }) {
  const known = namedModels(provider);
  const [name, setName] = useState(textSetting(provider, "name"));
  const [url, setUrl] = useState(textSetting(provider, "base_url"));
  const [key, setKey] = useState("");
  const [models, setModels] = useState(known.names.join("\n"));
  const change = (): ProviderChange => ({
    name: name.trim() === "" ? null : name.trim(),
    ...(textSetting(provider, "base_url") !== "" && { base_url: url.trim() }),
    ...(known.all && models !== known.names.join("\n") && { models: linesOf(models) }),
    ...(key.trim() !== "" && { api_keys: [key.trim()] }),
  });
  return (
    <ActionForm
      label="Save"
      act={async () => onDone(await updateProvider(provider.id, change()))}
      needs="admin"
      {...props}
    >
      <TextField label="Name" value={name} onValue={setName} placeholder={provider.id} />
      {textSetting(provider, "base_url") !== "" && <TextField label="Base URL" value={url} onValue={setUrl} required />}
      {known.all && (
        <AreaField label="Models" hint="Names at the provider, one in each line." value={models} onValue={setModels} />
      )}
      <TextField
        label="New API key"
        hint={`Replaces the ${provider.api_key_ends.length === 0 ? "missing" : "stored"} key; empty keeps it, unless the host of the base URL changes. ${keyHint}`}
        type="password"
        value={key}
        onValue={setKey}
      />
    </ActionForm>
  );
}
