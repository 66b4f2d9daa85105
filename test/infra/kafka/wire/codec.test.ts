import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decode } from '../../../../infra/kafka/wire/decode.ts'
import { encode } from '../../../../infra/kafka/wire/encode.ts'
import { anyMessage, blockMessage } from '../messages.ts'

test('a decoded message equals the encoded one', () => {
  fc.assert(
    fc.property(anyMessage, (message) => {
      expect(decode(encode(message))).toStrictEqual(message)
    }),
    { numRuns: 300 },
  )
})

test('a message written before senders were kept is read, without them', () => {
  const message = blockMessage(1)
  const { senders: _, ...wire } = JSON.parse(encode(message).toString())
  delete wire.ticks.sender
  const ticks = message.ticks.map(({ sender: _, ...tick }) => tick)
  expect(decode(Buffer.from(JSON.stringify(wire)))).toStrictEqual({ ...message, ticks })
})

test('a message of a later version says which program can read it', () => {
  const bytes = Buffer.from(JSON.stringify({ v: 2 }))
  expect(() => decode(bytes)).toThrowErrorMatchingInlineSnapshot(
    `[UnreadableMessage: A message of the log can't be read: its format has version 2, this program knows 1. Run the version that wrote it, or a later one.]`,
  )
})

test('bytes that are no message are told by how they begin', () => {
  expect(() => decode(Buffer.from('hello'))).toThrowErrorMatchingInlineSnapshot(
    `[UnreadableMessage: A message of the log can't be read: it is not JSON; it begins with "hello".]`,
  )
})

test('a price that is no number is never written', () => {
  const message = blockMessage(1)
  const ticks = message.ticks.map((tick) => ({ ...tick, price: Number.NaN }))
  expect(() => encode({ ...message, ticks })).toThrow('has the price NaN')
})
