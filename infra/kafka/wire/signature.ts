/** Signatures of records: HMAC-SHA-256 over topic, key, place among the parts of a message, and value. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { LogRecord } from './parts.ts'

/** The first one signs, all of them verify. */
export type SigningKeys = readonly [string, ...string[]]

export type Signatures = {
  sign(record: LogRecord): string
  /** Why a record with this signature is not one of this service's writers; undefined where it is. */
  problemOf(record: LogRecord, signature: string | undefined): string | undefined
}

export const SIGNATURE_HEADER = 'signature'

/** A record belongs to its topic: a signed one of another topic is not valid here. */
export function signaturesOf(topic: string, [first, ...others]: SigningKeys): Signatures {
  const keys = [first, ...others]
  // JSON has no line break of its own, so that no two records have the same bytes. Records of the log have no key.
  const prefixOf = ({ part }: LogRecord) =>
    `${JSON.stringify([topic, null, part ? [part.messageId, part.index, part.count] : null])}\n`
  const signedBy = (key: string, record: LogRecord) =>
    createHmac('sha256', key).update(prefixOf(record)).update(record.value).digest()
  return {
    sign: (record) => signedBy(first, record).toString('hex'),
    problemOf(record, signature) {
      if (signature === undefined) return 'It has no signature, and KAFKA_SIGNING_KEY_FILE asks for one.'
      const given = Buffer.from(signature, 'hex')
      const isValid = keys.some((key) => {
        const wanted = signedBy(key, record)
        return given.length === wanted.length && timingSafeEqual(given, wanted)
      })
      return isValid ? undefined : 'Its signature is of no key in KAFKA_SIGNING_KEY_FILE.'
    },
  }
}
