import { Modal } from '../ui/Modal';
export default function CostDrawer({ onClose }: { onClose: () => void }) {
  return (
    <Modal drawer title="What this page cost" onClose={onClose}>
      …
    </Modal>
  );
}
