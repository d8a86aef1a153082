//! An error code with its explanation, and lists of them.

/// An error code: its entry in `docs/errors`, and its HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorInfo {
    /// The stable code, `domain.snake_case`.
    pub code: &'static str,
    /// The HTTP status of the answer.
    pub status: u16,
    /// The cause.
    pub cause: &'static str,
    /// The suggested action.
    pub action: &'static str,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal $status:literal $cause:literal $action:literal;)*) => {
        $(
            $(#[$doc])*
            pub const $name: ErrorInfo = ErrorInfo { code: $code, status: $status, cause: $cause, action: $action };
        )*
        /// All error codes.
        pub const ERRORS: &[ErrorInfo] = &[$($name),*];
    };
}
pub(crate) use codes;
