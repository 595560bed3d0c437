/** Failures in Anthropic's format. */
import { anyValue, described, named, nullable, object, string, word } from "@sluice/proto/lib/validation/shape.js";
import { errorMetadata } from "@sluice/proto/contract/operations/errors.js";
import { serviceMetadataShape } from "@sluice/proto/contract/response/service-metadata.js";

/** Error types by HTTP status (https://platform.claude.com/docs/en/api/errors). */
const types: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  408: "timeout_error",
  409: "conflict_error",
  413: "request_too_large",
  422: "invalid_request_error",
  429: "rate_limit_error",
  503: "overloaded_error",
  524: "timeout_error",
  529: "overloaded_error",
};

export const errorTypeOf = (status: number): string => types[status] ?? "api_error";

const errorTypes = [...new Set([...Object.values(types), "api_error"])].sort();

export const messagesError = named(
  "MessagesError",
  object(
    {
      type: word("error"),
      error: object(
        {
          type: described(word(...errorTypes), "Anthropic's type for the status."),
          message: described(string({ min: 1 }), "What went wrong, for a person."),
          details: described(anyValue, "What clients of this format understand of the failure."),
          metadata: nullable(errorMetadata),
        },
        { required: ["type", "message"] },
      ),
      usage: described(anyValue, "Tokens of answers that were withheld."),
      request_id: described(string(), "Name of the request in the logs of the service."),
      service_metadata: described(
        nullable(serviceMetadataShape),
        "How the request was routed until it failed, when `X-Service-Metadata: enabled` asked for it.",
      ),
    },
    { required: ["type", "error"] },
  ),
);
