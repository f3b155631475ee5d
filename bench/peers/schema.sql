-- What the peers keep of a photo. Each of its two jobs writes its part; the second one makes it ready.
CREATE TABLE IF NOT EXISTS peer_photos (
    id uuid PRIMARY KEY,
    filename text NOT NULL,
    size_bytes bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    previews jsonb,
    exif jsonb,
    error text,
    ready_at timestamptz
);
