/**
 * kafkajs, with a decoder of this service for record batches (`record-batch.ts`): that of kafkajs unpacks whatever a batch unpacks to, takes a time
 * that grows with the square of a record's headers, and fails a whole fetch for one batch that it can't read, again and again. kafkajs loads the
 * modules of a request with the first one, so that the replacement counts for every fetch.
 */
import { createRequire } from 'node:module'
import type * as KafkaJs from 'kafkajs'
import { readBatch } from './record-batch.ts'

const require = createRequire(import.meta.url)

function replace(name: string, exports: unknown): void {
  require(name)
  const loaded = require.cache[require.resolve(name)]
  if (!loaded) throw new Error(`${name} is not where this version of kafkajs has it.`)
  loaded.exports = exports
}

function load(): typeof KafkaJs {
  replace('kafkajs/src/protocol/recordBatch/v0/decoder.js', readBatch)
  // A transaction that a writer leaves open would hide every later record from readers of committed ones, for a quarter of an hour.
  Object.assign(require('kafkajs/src/protocol/isolationLevel.js'), { READ_COMMITTED: 0 })
  return require('kafkajs')
}

export const kafkajs = load()
