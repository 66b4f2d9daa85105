/** Public topics as the environment asks for them. */
import { z } from 'zod'
import {
  PUBLISH_FINALITIES,
  PUBLISHED_KINDS,
  type PublishedKind,
  type PublishFinality,
} from '../../aggregator/extras/publish/publication.ts'
import { BadConfiguration } from './bad-configuration.ts'
import { list } from './values.ts'

/** `url`: without a slash at its end. */
export type SchemaRegistry = { url: string; username: string | undefined; password: string | undefined }

export type PublishConfig = {
  kinds: ReadonlySet<PublishedKind>
  finality: PublishFinality
  registry: SchemaRegistry | undefined
}

export const publishVariables = {
  PUBLISH: list
    .pipe(z.array(z.enum(PUBLISHED_KINDS, `names something else than ${PUBLISHED_KINDS.join(', ')}`)))
    .optional(),
  PUBLISH_FINALITY: z.enum(PUBLISH_FINALITIES, `is none of ${PUBLISH_FINALITIES.join(', ')}`).default('instant'),
  SCHEMA_REGISTRY_URL: z
    .url({ protocol: /^https?$/, error: 'is not an address that begins with http:// or https://' })
    .optional(),
  SCHEMA_REGISTRY_USERNAME: z.string().optional(),
  SCHEMA_REGISTRY_PASSWORD: z.string().optional(),
} as const

type PublishVariables = z.infer<z.ZodObject<typeof publishVariables>> & {
  KAFKA_BROKERS?: readonly string[] | undefined
}

/** Undefined where nothing is published. */
export function publishConfigOf({
  PUBLISH,
  PUBLISH_FINALITY,
  KAFKA_BROKERS,
  SCHEMA_REGISTRY_URL: url,
  SCHEMA_REGISTRY_USERNAME: username,
  SCHEMA_REGISTRY_PASSWORD: password,
}: PublishVariables): PublishConfig | undefined {
  if (PUBLISH === undefined) return undefined
  if (KAFKA_BROKERS === undefined) throw new BadConfiguration(['PUBLISH needs KAFKA_BROKERS: its topics are in Kafka'])
  const registry = url === undefined ? undefined : registryOf(new URL(url), username, password)
  return { kinds: new Set(PUBLISH), finality: PUBLISH_FINALITY, registry }
}

/** A user and a password in the address count where the variables are not set: no log shows them. */
function registryOf(
  url: URL,
  username = decodeURIComponent(url.username),
  password = decodeURIComponent(url.password),
) {
  const { origin, pathname } = url
  return {
    url: `${origin}${pathname}`.replace(/\/+$/, ''),
    username: username || undefined,
    password: password || undefined,
  }
}
