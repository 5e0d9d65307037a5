//! What operations cost: the charge of a refusal, the meter that counts units, the throttle that limits them (C1 to C6).

pub(super) mod failure;
pub(super) mod meter;
pub(super) mod throttle;
