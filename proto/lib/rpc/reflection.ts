/**
 * grpc.reflection.v1 and v1alpha: lists the services of a port and describes their messages, so tools such as grpcurl need no .proto files. Needs no
 * key, because the contract is public.
 */
import { type DescFile, type DescMessage, type DescService, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import {
  type ServerReflectionRequest,
  type ServerReflectionResponseSchema,
  ServerReflection,
} from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import type { Lifecycle } from "../process/lifecycle.ts";

export const reflectionServices = [ServerReflection, ServerReflectionAlpha] as const;

/** Prefix of the paths of reflection calls. */
export const reflectionPath = "/grpc.reflection.";

/** Code of google.rpc.Code. */
const notFound = 5;

type Answer = NonNullable<MessageInitShape<typeof ServerReflectionResponseSchema>["messageResponse"]>;
/** Fields of a request that both versions have. */
type Question = Pick<ServerReflectionRequest, "host" | "messageRequest">;

/** @param services of the port, including those for health and reflection */
export function reflection(services: readonly DescService[], lifecycle: Lifecycle) {
  const files = new Files(services);
  return {
    async *serverReflectionInfo<RequestCase extends Question>(questions: AsyncIterable<RequestCase>) {
      for await (const question of untilDrain(questions, lifecycle)) {
        yield {
          validHost: question.host,
          originalRequest: question as never,
          messageResponse: answer(files, services, question) as never,
        };
      }
    },
  };
}

function answer(files: Files, services: readonly DescService[], { messageRequest: request }: Question): Answer {
  switch (request.case) {
    case "listServices":
      return {
        case: "listServicesResponse",
        value: { service: services.map(({ typeName: name }) => ({ name })) },
      };
    case "fileByFilename":
      return described(files.named(request.value), request.value);
    case "fileContainingSymbol":
      return described(files.declaring(request.value), request.value);
    case "allExtensionNumbersOfType":
      return files.declaring(request.value)
        ? { case: "allExtensionNumbersResponse", value: { baseTypeName: request.value, extensionNumber: [] } }
        : missing(request.value);
    case "fileContainingExtension":
      return missing(`${request.value.containingType} ${request.value.extensionNumber}`);
    case undefined:
      return missing("");
  }
}

const missing = (name: string): Answer => ({
  case: "errorResponse",
  value: { errorCode: notFound, errorMessage: `Not found: ${name.slice(0, 256)}` },
});

const described = (file: DescFile | undefined, name: string): Answer =>
  file
    ? {
        case: "fileDescriptorResponse",
        value: {
          fileDescriptorProto: withImports(file).map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto)),
        },
      }
    : missing(name);

/** A file of the contract and all files that it imports, each once. */
function withImports(file: DescFile, found = new Set<DescFile>()): DescFile[] {
  if (found.has(file)) return [];
  found.add(file);
  return [file, ...file.dependencies.flatMap((imported) => withImports(imported, found))];
}

/** Files of the contract for some services, by file name and by declared symbol. */
class Files {
  readonly #byName = new Map<string, DescFile>();
  readonly #bySymbol = new Map<string, DescFile>();

  constructor(services: readonly DescService[]) {
    for (const { file } of services) for (const each of withImports(file)) this.#add(each);
  }

  named(name: string): DescFile | undefined {
    return this.#byName.get(name);
  }

  /** @param symbol full name of a service, method, message, enum or field */
  declaring(symbol: string): DescFile | undefined {
    const outer = symbol.slice(0, Math.max(0, symbol.lastIndexOf(".")));
    return this.#bySymbol.get(symbol) ?? this.#bySymbol.get(outer);
  }

  #add(file: DescFile): void {
    this.#byName.set(file.proto.name, file);
    for (const { typeName } of [...file.services, ...file.enums]) this.#bySymbol.set(typeName, file);
    for (const message of file.messages) this.#addMessage(message, file);
  }

  #addMessage(message: DescMessage, file: DescFile): void {
    this.#bySymbol.set(message.typeName, file);
    for (const { typeName } of message.nestedEnums) this.#bySymbol.set(typeName, file);
    for (const nested of message.nestedMessages) this.#addMessage(nested, file);
  }
}

/** Yields the requests of a client until its stream ends or the process shuts down. */
async function* untilDrain<Question>(
  questions: AsyncIterable<Question>,
  lifecycle: Lifecycle,
): AsyncGenerator<Question> {
  let stop = () => {};
  const drained = new Promise<undefined>((resolve) => {
    stop = lifecycle.watch(() => lifecycle.draining && resolve(undefined));
  });
  const iterator = questions[Symbol.asyncIterator]();
  try {
    while (!lifecycle.draining) {
      const next = await Promise.race([iterator.next(), drained]);
      if (next === undefined || next.done === true) return;
      yield next.value;
    }
  } finally {
    stop();
  }
}
