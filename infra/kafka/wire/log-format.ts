/** The content of a topic of the log: recognizes records and messages of its network, and other content. */
import { validateMessage } from '../../../aggregator/write/validate-message.ts'
import { blocksOf } from '../../../ingest/model/message.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import { type SigningKeys, signaturesOf } from './signature.ts'
import { storedRecords, type ToStoredRecord } from './stored-record.ts'
import type { AnyMessage, MessageKinds } from './wire-format.ts'

export type LogFormat = {
  kinds: MessageKinds
  toStoredRecord: ToStoredRecord
  /** The reason why no current writer appends such a message; undefined where one may. */
  problemOf(message: AnyMessage): string | undefined
  isStorable(message: AnyMessage): boolean
}

export type LogFormatOptions = {
  topic: string
  network: NetworkName
  kinds: MessageKinds
  signingKeys?: SigningKeys | undefined
}

export function logFormat({ topic, network, kinds, signingKeys }: LogFormatOptions): LogFormat {
  return {
    kinds,
    toStoredRecord: storedRecords(signingKeys && signaturesOf(topic, signingKeys)),
    problemOf: futureTime,
    isStorable: (message) => validateMessage(message, network) === undefined,
  }
}

/** Chains allow their blocks some seconds, and clocks of machines differ. */
const MAX_SECONDS_AHEAD = 3_600

function futureTime(message: AnyMessage): string | undefined {
  const end = Date.now() / 1000 + MAX_SECONDS_AHEAD
  const late = [message, ...blocksOf(message)].find(({ timestamp }) => timestamp > end)
  return late && `It is of ${String(late.timestamp).slice(0, 20)}, more than an hour ahead of this machine's clock.`
}
