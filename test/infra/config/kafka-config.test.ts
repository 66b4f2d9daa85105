/** Kafka in the environment: each wrong value is refused with its variable and rule, and no secret is repeated. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AuthenticationProviderArgs, Kafka } from 'kafkajs'
import { afterAll, describe, expect, test } from 'vitest'
import { readConfig } from '../../../infra/config/config.ts'
import { createRedactor } from '../../../infra/config/secrets.ts'

const folder = mkdtempSync(join(tmpdir(), 'candlepool-kafka-config-'))
const secretFile = join(folder, 'password')
writeFileSync(secretFile, 'of-the-file\n')
afterAll(() => rmSync(folder, { recursive: true }))

const BROKERS = { KAFKA_BROKERS: 'one:9093,two:9093' }
const SCRAM = { ...BROKERS, KAFKA_SASL_MECHANISM: 'scram-sha-512', KAFKA_SASL_USERNAME: 'me' }

function kafkaOf(environment: Record<string, string>) {
  const { log } = readConfig(environment)
  if (log.kind !== 'kafka') throw new Error('There is no Kafka.')
  return log
}

/** Authenticates once, and gives the bytes that a broker would get. */
function requestOf(environment: Record<string, string>): () => Promise<string> {
  const { sasl } = kafkaOf({ ...BROKERS, ...environment }).security ?? {}
  if (!sasl || !('authenticationProvider' in sasl)) throw new Error('It has another mechanism.')
  return async () => {
    let sent = ''
    const saslAuthenticate: AuthenticationProviderArgs['saslAuthenticate'] = async ({ request }) => {
      sent = (await request.encode()).toString()
      return undefined
    }
    const logger = new Kafka({ brokers: ['one:9093'] }).logger()
    await sasl.authenticationProvider({ host: 'one', port: 9093, logger, saslAuthenticate }).authenticate()
    return sent
  }
}

describe('Kafka', () => {
  test('is reached without TLS and with seven days of retention by default', () => {
    expect(kafkaOf(BROKERS)).toMatchObject({
      brokers: ['one:9093', 'two:9093'],
      prefix: '',
      security: {},
      topics: { create: true, replicas: undefined },
      compression: 'gzip',
    })
    expect(readConfig(BROKERS).publish).toBeUndefined()
  })

  test('has a password from a file, without its line end, which no text shows', () => {
    const environment = { ...SCRAM, KAFKA_SASL_PASSWORD_FILE: secretFile, KAFKA_SSL: 'on' }
    expect(kafkaOf(environment).security).toEqual({
      ssl: {},
      sasl: { mechanism: 'scram-sha-512', username: 'me', password: 'of-the-file' },
    })
    expect(createRedactor(readConfig(environment))('it is of-the-file')).toBe('it is ***')
  })

  test('has a token that is read again for each connection', async () => {
    const file = join(folder, 'token')
    const authenticate = requestOf({ KAFKA_SASL_MECHANISM: 'OAUTHBEARER', KAFKA_SASL_TOKEN_FILE: file })
    for (const token of ['first', 'second']) {
      writeFileSync(file, `${token}\n`)
      expect(await authenticate()).toContain(`n,,\x01auth=Bearer ${token}\x01\x01`)
    }
  })

  test('says that a command for a token failed, and not what it printed', async () => {
    const command = 'echo secret-of-mine >&2; exit 3'
    const authenticate = requestOf({ KAFKA_SASL_MECHANISM: 'oauthbearer', KAFKA_SASL_TOKEN_COMMAND: command })
    await expect(authenticate()).rejects.toThrow(/^KAFKA_SASL_TOKEN_COMMAND failed \(3\)\.$/)
  })

  test.each([
    [
      { KAFKA_SASL_MECHANISM: 'gssapi' },
      'KAFKA_SASL_MECHANISM is none of plain, scram-sha-256, scram-sha-512, oauthbearer',
    ],
    [
      { KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_USERNAME: 'me' },
      'needs KAFKA_SASL_PASSWORD or KAFKA_SASL_PASSWORD_FILE',
    ],
    [{ KAFKA_SASL_PASSWORD: 'hidden-one' }, 'KAFKA_SASL_PASSWORD needs KAFKA_SASL_MECHANISM'],
    [{ KAFKA_SASL_MECHANISM: 'oauthbearer' }, 'needs KAFKA_SASL_TOKEN_FILE or KAFKA_SASL_TOKEN_COMMAND'],
    [{ KAFKA_SSL_CA_FILE: join(folder, 'none') }, 'KAFKA_SSL_CA_FILE names a file that cannot be read (ENOENT)'],
    [{ KAFKA_SSL_CA_FILE: secretFile }, 'KAFKA_SSL_CA_FILE holds no certificate in PEM'],
    [{ KAFKA_SSL: 'off', KAFKA_SSL_CA_FILE: secretFile }, 'KAFKA_SSL is off, and KAFKA_SSL_…_FILE names a file for it'],
    [{ KAFKA_SSL_CERT_FILE: secretFile }, 'KAFKA_SSL_CERT_FILE and KAFKA_SSL_KEY_FILE belong together'],
    [
      { KAFKA_SIGNING_KEY_FILE: secretFile },
      'KAFKA_SIGNING_KEY_FILE holds not one or two lines of at least 32 characters',
    ],
    [{ KAFKA_SSL: 'yes' }, 'KAFKA_SSL is neither on nor off'],
    [{ KAFKA_TOPIC_PREFIX: 'a/b' }, 'KAFKA_TOPIC_PREFIX is not 1 to 100 letters'],
    [{ KAFKA_REPLICATION: '0' }, 'KAFKA_REPLICATION is not a number from 1 to 100'],
    [
      { KAFKA_REPLICATION: '2', KAFKA_MIN_INSYNC_REPLICAS: '3' },
      'KAFKA_MIN_INSYNC_REPLICAS is more than KAFKA_REPLICATION',
    ],
    [{ KAFKA_COMPRESSION: 'snappy' }, 'KAFKA_COMPRESSION is none of gzip, none'],
    [{ PUBLISH: 'ticks,trades' }, 'PUBLISH names something else than ticks, pools, candles'],
    [{ PUBLISH: 'ticks', KAFKA_BROKERS: '' }, 'PUBLISH needs KAFKA_BROKERS'],
    [{ PUBLISH_FINALITY: 'safe' }, 'PUBLISH_FINALITY is none of instant, final'],
  ])('refuses %j', (wrong, says) => {
    expect(() => readConfig({ ...BROKERS, ...wrong } as Record<string, string>)).toThrow(says)
    expect(() => readConfig({ ...BROKERS, ...wrong } as Record<string, string>)).not.toThrow(/hidden-one|of-the-file/)
  })
})
