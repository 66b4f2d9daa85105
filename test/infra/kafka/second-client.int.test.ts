/** The log does not depend on one client: a second one keeps its contract, and each reads what the other has appended. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { kafkaLog } from '../../../infra/kafka/kafka.ts'
import type { Message } from '../../../ingest/model/message.ts'
import { kafkaOrSkip } from '../../support/kafka.ts'
import { logContract, messagesOf, type OpenedLog, readSome } from './contract.ts'
import { blockMessage, blockMessages } from './messages.ts'
import { platformaticLog } from './platformatic-log.ts'

const { skip, brokers } = kafkaOrSkip()

const openSecond = (prefix: string): Promise<OpenedLog> =>
  platformaticLog({ brokers, topic: `${prefix}blocks.ethereum`, group: `${prefix}candlepool.aggregator.ethereum` })

/** Beside it an entry may have its records, as they were read. */
const placeOf = (entry: { offset: number; message: Message } | undefined) =>
  entry && { offset: entry.offset, message: entry.message }

describe.skipIf(skip)('@platformatic/kafka', () => {
  logContract('carries the log', () => openSecond(`test-${randomUUID()}.`))

  test('reads what kafkajs appends, and kafkajs what it appends, one part and several', async () => {
    const prefix = `test-${randomUUID()}.`
    const first = await kafkaLog({ brokers, network: 'ethereum', prefix, report: () => {} })
    const second = await openSecond(prefix)
    const ofFirst: Message[] = [...blockMessages(1, 5), blockMessage(6, 20_000)]
    const ofSecond: Message[] = [blockMessage(7, 20_000), ...blockMessages(8, 12)]
    await first.append(ofFirst)
    await second.log.append(ofSecond)
    const all = [...ofFirst, ...ofSecond]
    expect(messagesOf(await readSome(first, 0, all.length))).toStrictEqual(all)
    expect(messagesOf(await readSome(second.log, 0, all.length))).toStrictEqual(all)
    expect(placeOf(await second.log.last())).toStrictEqual(placeOf(await first.last()))
    for (const offset of [5, 6, 7])
      expect(placeOf(await second.log.at(offset))).toStrictEqual(placeOf(await first.at(offset)))
    await first.close()
    await second.close()
  })
})
