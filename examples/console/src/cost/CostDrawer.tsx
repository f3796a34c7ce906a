import { useReactiveVar } from '@apollo/client/react';
import { formatCount } from '../ui/format';
import { Modal } from '../ui/Modal';
import styles from './CostDrawer.module.css';
import { type Cost, costs } from './costs';

/** What the last operations of this page cost, as the gateway reports it. */
export default function CostDrawer({ onClose }: { onClose: () => void }) {
  const list = useReactiveVar(costs);
  const total = list.flatMap(({ calls }) => calls);
  return (
    <Modal drawer title="What this page cost" onClose={onClose}>
      <div className="stack">
        {list.length === 0 ? (
          <p className="empty">
            No operation yet, or the gateway does not report costs. The operator can allow it with EXPLAIN=true.
          </p>
        ) : (
          <>
            <div className="row">
              <p className={styles.total}>
                <strong>{countOf(total)}</strong> in {formatCount(list.length, 'operation')}
              </p>
              <button type="button" onClick={() => costs([])}>
                Clear
              </button>
            </div>
            <ul className={styles.list}>
              {list.map(cost => (
                <Operation key={cost.id} cost={cost} />
              ))}
            </ul>
          </>
        )}
      </div>
    </Modal>
  );
}

function Operation({ cost: { operation, milliseconds, calls } }: { cost: Cost }) {
  return (
    <li>
      <details>
        <summary>
          <strong>{operation}</strong> {countOf(calls)} <small>{Math.round(milliseconds)} ms</small>
        </summary>
        <ul>
          {calls.map(({ method, path, status, milliseconds, source }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the list never changes
            <li key={index}>
              <code>
                {method} {path}
              </code>{' '}
              <small>
                {status}, {SOURCES[source]}, {Math.round(milliseconds)} ms
              </small>
            </li>
          ))}
        </ul>
      </details>
    </li>
  );
}

const SOURCES = {
  network: 'from the service',
  flight: 'shared with another request',
  memory: 'from memory',
  redis: 'from Redis',
};

function countOf(calls: Cost['calls']): string {
  const upstream = calls.filter(({ source }) => source === 'network').length;
  if (calls.length === 0) return 'nothing to read';
  return `${formatCount(upstream, 'upstream call')}, ${calls.length - upstream} from the cache`;
}
