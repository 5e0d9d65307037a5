//! What every storage promises.
