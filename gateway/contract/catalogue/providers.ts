/** Shapes of GET /providers and GET /providers/left-out: the providers of the configuration file. */
import {
  anyValue,
  array,
  boolean,
  described,
  integer,
  named,
  nullable,
  object,
  string,
  word,
} from "@sluice/proto/lib/validation/shape.js";

const dataPolicy = object(
  {
    retention: described(word("none", "unknown"), "`none` admits requests with `provider.zdr`."),
    training: described(nullable(boolean), "Whether it trains on what it is sent; null when that is not declared."),
  },
  { required: ["retention", "training"], description: "As the operator declares it." },
);

const provider = object(
  {
    slug: described(string({ min: 1 }), "By which preferences name it."),
    name: described(string(), "Name for people, as receipts show it."),
    region: described(string(), "Where it is, in the words of the operator."),
    tiers: described(array(string()), "Tiers of its endpoints."),
    models: described(integer({ min: 0 }), "How many models it serves here."),
    data_policy: dataPolicy,
    status: described(
      nullable(word("operational", "degraded", "outage")),
      "What one process has seen of its endpoints in the last 30 seconds: none, some or all of them fail; null when none was asked.",
    ),
    headquarters: described(nullable(string()), "Country, in two letters."),
    datacenters: anyValue,
    privacy_policy_url: nullable(string()),
    terms_of_service_url: nullable(string()),
    status_page_url: nullable(string()),
  },
  {
    required: [
      "slug",
      "name",
      "region",
      "tiers",
      "models",
      "data_policy",
      "status",
      "headquarters",
      "datacenters",
      "privacy_policy_url",
      "terms_of_service_url",
      "status_page_url",
    ],
    description: "A provider that serves models.",
  },
);

export const providerList = named(
  "ProviderList",
  object({ data: array(named("Provider", provider)) }, { required: ["data"] }),
);

const leftOutProvider = object(
  {
    slug: described(string({ min: 1 }), "Id of the provider in the configuration file."),
    reason: described(string(), "Why, as a clause."),
  },
  { required: ["slug", "reason"], description: "A provider that serves nothing." },
);

export const leftOutList = named(
  "LeftOutProviderList",
  object({ data: array(named("LeftOutProvider", leftOutProvider)) }, { required: ["data"] }),
);
