/** Facts that the log reports. */
import type { Offset } from '../../../ingest/model/tick-log.ts'

export type LogFact =
  | { kind: 'log-topic-made'; topic: string; replicas: number; retentionMs: number }
  /** Nothing is lost: the same step is tried again after `waitMs`. */
  | {
      kind: 'log-retried'
      topic: string
      step: 'open' | 'append' | 'ask' | 'read' | 'set aside' | 'publish'
      attempt: number
      waitMs: number
      error: string
    }
  | { kind: 'schema-registered'; subject: string; id: number }
  /** Publishing does not depend on it; the registration is repeated after `waitMs`. */
  | { kind: 'schema-not-registered'; subject: string; waitMs: number; error: string }
  /** An operator has changed a setting of the topic to a `value` that this service cannot work with. */
  | { kind: 'log-setting-unsuitable'; topic: string; setting: string; value: string; wanted: string }
  | { kind: 'log-setting-mended'; topic: string; setting: string; value: string }
  | { kind: 'log-reading'; topic: string; group: string; position: Offset }
  | { kind: 'log-standing-by'; topic: string; group: string }
  /** Retention has deleted the messages between. */
  | { kind: 'log-begins-later'; topic: string; position: Offset; begins: Offset }
  /** A writer stopped in the middle of a message; the next writer publishes it again. */
  | { kind: 'log-parts-dropped'; topic: string; messageId: string; lastOffset: Offset; parts: number; count: number }
  /** The record is no valid message and was skipped; its writer publishes the missing blocks again. */
  | { kind: 'message-rejected'; topic: string; offset: Offset; reason: string }
  /** The rejected message remains only in its own topic, until retention. */
  | { kind: 'rejected-not-copied'; topic: string; error: string }
  /** A log line of kafkajs. */
  | { kind: 'kafka-client'; severity: 'error' | 'warning'; scope: string; message: string; error: string | undefined }
