/** A cluster of Kafka brokers from Apache's jars as production has them: TLS, SASL, access control. A listener without them is the operator's. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Authority, makeAuthority } from './certificates.ts'
import { freePorts } from './free-ports.ts'
import { fetchedKafka, newClusterId, serverProperties, startProcess, toProperties } from './kafka-jars.ts'
import { javaAtLeast } from './maven.ts'

const run = promisify(execFile)

export const USER = 'candlepool'
export const PASSWORD = 'right-password'

export type SecureBroker = {
  kill(): Promise<void>
  /** With the same data; with another certificate where one is given. */
  restart(bothFile?: string): Promise<void>
}

export type SecureCluster = {
  /** TLS and SASL. */
  brokers: string[]
  /** Without them, and with every right. */
  operatorBrokers: string[]
  nodes: readonly SecureBroker[]
  authority: Authority
  folder: string
  stop(): Promise<void>
}

type Options = { size?: number; isAuthorized?: boolean }

export async function startSecureCluster({ size = 1, isAuthorized = false }: Options = {}): Promise<SecureCluster> {
  await javaAtLeast(17)
  const classpath = join(await fetchedKafka(), '*')
  const folder = await mkdtemp(join(tmpdir(), 'candlepool-cluster-'))
  const authority = await makeAuthority(folder, 'authority')
  const { bothFile } = await authority.sign('broker')
  const ports = await freePorts(2 * size + 1)
  const [controllerPort = 0] = ports
  const id = newClusterId()
  const started: (SecureBroker & { secure: string; operator: string })[] = []
  for (let index = 0; index < size; index++) {
    const [operatorPort = 0, securePort = 0] = ports.slice(1 + 2 * index)
    const data = join(folder, `node-${index + 1}`)
    const properties = `${data}.properties`
    const write = (certificate: string) => {
      const base = serverProperties(operatorPort, controllerPort, data)
      const listeners = [`OPERATOR://127.0.0.1:${operatorPort}`, `SECURE://127.0.0.1:${securePort}`]
      const own = index === 0 ? [...listeners, `CONTROLLER://127.0.0.1:${controllerPort}`] : listeners
      return writeFile(
        properties,
        toProperties({
          ...base,
          'process.roles': index === 0 ? 'broker,controller' : 'broker',
          'node.id': index + 1,
          listeners: own.join(),
          'advertised.listeners': listeners.join(),
          ...SECURITY,
          'ssl.keystore.location': certificate,
          'ssl.truststore.location': authority.caFile,
          'offsets.topic.replication.factor': size,
          ...(isAuthorized && {
            'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
            'super.users': 'User:ANONYMOUS',
          }),
        }),
      )
    }
    await write(bothFile)
    const users = ['SCRAM-SHA-256', 'SCRAM-SHA-512'].flatMap((mechanism) => [
      '--add-scram',
      `${mechanism}=[name=${USER},password=${PASSWORD}]`,
    ])
    const storage = ['format', '-t', id, '-c', properties, ...(index === 0 ? users : [])]
    await run('java', ['-cp', classpath, 'kafka.tools.StorageTool', ...storage])
    let broker = await startProcess(classpath, properties, securePort)
    started.push({
      secure: `127.0.0.1:${securePort}`,
      operator: `127.0.0.1:${operatorPort}`,
      kill: () => broker.kill(),
      async restart(certificate) {
        if (certificate !== undefined) await write(certificate)
        broker = await startProcess(classpath, properties, securePort)
      },
    })
  }
  const operatorBrokers = started.map(({ operator }) => operator)
  return {
    brokers: started.map(({ secure }) => secure),
    operatorBrokers,
    nodes: started,
    authority,
    folder,
    async stop() {
      await Promise.all(started.map(({ kill }) => kill()))
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const LOGIN = 'org.apache.kafka.common.security'
const SECURITY = {
  'listener.security.protocol.map': 'OPERATOR:PLAINTEXT,SECURE:SASL_SSL,CONTROLLER:PLAINTEXT',
  'inter.broker.listener.name': 'OPERATOR',
  'sasl.enabled.mechanisms': 'SCRAM-SHA-256,SCRAM-SHA-512,PLAIN,OAUTHBEARER',
  'listener.name.secure.scram-sha-256.sasl.jaas.config': `${LOGIN}.scram.ScramLoginModule required;`,
  'listener.name.secure.scram-sha-512.sasl.jaas.config': `${LOGIN}.scram.ScramLoginModule required;`,
  'listener.name.secure.plain.sasl.jaas.config': `${LOGIN}.plain.PlainLoginModule required user_${USER}="${PASSWORD}";`,
  // Kafka's own validator of tokens without a signature.
  'listener.name.secure.oauthbearer.sasl.jaas.config': `${LOGIN}.oauthbearer.OAuthBearerLoginModule required;`,
  'ssl.keystore.type': 'PEM',
  'ssl.truststore.type': 'PEM',
  'ssl.client.auth': 'requested',
}
