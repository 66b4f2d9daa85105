/** Public topics as the environment asks for them. */
import { z } from 'zod'
import {
  PUBLISH_FINALITIES,
  PUBLISHED_KINDS,
  type PublishedKind,
  type PublishFinality,
} from '../../aggregator/publish/publication.ts'
import { BadConfiguration } from './bad-configuration.ts'
import { list } from './values.ts'

export type PublishConfig = { kinds: ReadonlySet<PublishedKind>; finality: PublishFinality }

export const publishVariables = {
  PUBLISH: list
    .pipe(z.array(z.enum(PUBLISHED_KINDS, `names something else than ${PUBLISHED_KINDS.join(', ')}`)))
    .optional(),
  PUBLISH_FINALITY: z.enum(PUBLISH_FINALITIES, `is none of ${PUBLISH_FINALITIES.join(', ')}`).default('instant'),
} as const

type PublishVariables = {
  PUBLISH?: readonly PublishedKind[] | undefined
  PUBLISH_FINALITY: PublishFinality
  KAFKA_BROKERS?: readonly string[] | undefined
}

/** Undefined where nothing is published. */
export function publishConfigOf({
  PUBLISH,
  PUBLISH_FINALITY,
  KAFKA_BROKERS,
}: PublishVariables): PublishConfig | undefined {
  if (PUBLISH === undefined) return undefined
  if (KAFKA_BROKERS === undefined) throw new BadConfiguration(['PUBLISH needs KAFKA_BROKERS: its topics are in Kafka'])
  return { kinds: new Set(PUBLISH), finality: PUBLISH_FINALITY }
}
