/** A broker behind an IPv6 address. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { readConfig } from '../../../infra/config/config.ts'
import { kafkaClient } from '../../../infra/kafka/client/client.ts'
import { kafkaOrSkip } from '../../support/kafka.ts'

const kafka = kafkaOrSkip()

test.skipIf(kafka.skip)('KAFKA_BROKERS takes an IPv6 address in brackets', async () => {
  const [host, port] = kafka.brokers[0]?.split(':') ?? []
  const relay = createServer((socket) => {
    const upstream = connect(Number(port), host)
    socket.on('error', () => upstream.destroy())
    upstream.on('error', () => socket.destroy())
    socket.pipe(upstream).pipe(socket)
  })
  await once(relay.listen(0, '::1'), 'listening')
  const { log } = readConfig({ KAFKA_BROKERS: `[::1]:${(relay.address() as AddressInfo).port}` })
  if (log.kind !== 'kafka') throw new Error('Kafka is configured.')
  const admin = kafkaClient(log, { retry: { retries: 1 }, report: () => {} }).admin()
  await admin.connect()
  expect((await admin.describeCluster()).brokers.length).toBeGreaterThan(0)
  await admin.disconnect()
  relay.close()
})

test.each(['::1:9092', '[::1]', 'a]:1'])('KAFKA_BROKERS does not take %s', (text) => {
  expect(() => readConfig({ KAFKA_BROKERS: text })).toThrow('KAFKA_BROKERS is not a list of host:port, comma separated')
})
