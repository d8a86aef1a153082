//! Codecs of records and variants, written once as a list of their fields.

/// Implements `Encode` and `Decode` of a struct as an array of exactly the named fields, in the order given.
///
/// ```
/// #[derive(Debug, PartialEq)]
/// struct Point { x: u32, y: u32 }
/// primitives::record!(Point { x, y });
///
/// use primitives::{Decode, Encode};
/// let bytes = Point { x: 1, y: 2 }.to_bytes();
/// assert_eq!(bytes, [0x82, 1, 2]);
/// assert_eq!(Point::from_bytes(&bytes), Ok(Point { x: 1, y: 2 }));
/// ```
/// An optional field that was added later follows a semicolon. While it is absent, the encoding is the earlier one.
/// ```
/// #[derive(Debug, PartialEq)]
/// struct Place { x: u32, floor: Option<u32> }
/// primitives::record!(Place { x; floor });
///
/// use primitives::{Decode, Encode};
/// assert_eq!(Place { x: 1, floor: None }.to_bytes(), [0x81, 1]);
/// assert_eq!(Place::from_bytes(&[0x82, 1, 7]), Ok(Place { x: 1, floor: Some(7) }));
/// ```
#[macro_export]
macro_rules! record {
    ($name:ident { $($field:ident),* ; $later:ident }) => {
        impl $crate::Encode for $name {
            fn encode(&self, e: &mut $crate::Encoder) {
                e.array($crate::count_fields!($($field)*) + usize::from(self.$later.is_some()));
                $($crate::Encode::encode(&self.$field, e);)*
                if let ::core::option::Option::Some(later) = &self.$later {
                    $crate::Encode::encode(later, e);
                }
            }
        }

        impl $crate::Decode for $name {
            fn decode(d: &mut $crate::Decoder<'_>) -> ::core::result::Result<Self, $crate::DecodeError> {
                let has_later = d.array_with_later($crate::count_fields!($($field)*))?;
                $(let $field = $crate::Decode::decode(d)?;)*
                let $later = match has_later {
                    true => ::core::option::Option::Some($crate::Decode::decode(d)?),
                    false => ::core::option::Option::None,
                };
                ::core::result::Result::Ok(Self { $($field,)* $later })
            }
        }
    };
    ($name:ident { $($field:ident),* $(,)? }) => {
        impl $crate::Encode for $name {
            fn encode(&self, e: &mut $crate::Encoder) {
                e.array($crate::count_fields!($($field)*));
                $($crate::Encode::encode(&self.$field, e);)*
            }
        }

        impl $crate::Decode for $name {
            fn decode(d: &mut $crate::Decoder<'_>) -> ::core::result::Result<Self, $crate::DecodeError> {
                d.expect_array($crate::count_fields!($($field)*))?;
                $(let $field = $crate::Decode::decode(d)?;)*
                ::core::result::Result::Ok(Self { $($field),* })
            }
        }
    };
}

/// Implements `Encode` and `Decode` of an enum: each variant is an array of its number and then its fields.
///
/// ```
/// #[derive(Debug, PartialEq)]
/// enum Shape { Nothing, Circle(u32), Box { width: u32, height: u32 } }
/// primitives::variants!(Shape { 0 => Nothing, 1 => Circle(radius), 2 => Box { width, height } });
///
/// use primitives::{Decode, Encode};
/// assert_eq!(Shape::Circle(7).to_bytes(), [0x82, 1, 7]);
/// assert_eq!(Shape::from_bytes(&[0x81, 0]), Ok(Shape::Nothing));
/// ```
#[macro_export]
macro_rules! variants {
    ($name:ident { $($tag:literal => $variant:ident $(( $($item:ident),* $(,)? ))? $({ $($field:ident),* $(,)? })?),* $(,)? }) => {
        impl $crate::Encode for $name {
            fn encode(&self, e: &mut $crate::Encoder) {
                match self {
                    $(Self::$variant $(( $($item),* ))? $({ $($field),* })? => {
                        e.array(1 + $crate::count_fields!($($($item)*)? $($($field)*)?));
                        e.u64($tag);
                        $($($crate::Encode::encode($item, e);)*)?
                        $($($crate::Encode::encode($field, e);)*)?
                    })*
                }
            }
        }

        impl $crate::Decode for $name {
            fn decode(d: &mut $crate::Decoder<'_>) -> ::core::result::Result<Self, $crate::DecodeError> {
                let offset = d.offset();
                let found = d.array()?;
                if found == 0 {
                    return ::core::result::Result::Err($crate::DecodeError::WrongLength { offset, expected: 1, found });
                }
                match d.u64()? {
                    $($tag => {
                        let expected = 1 + $crate::count_fields!($($($item)*)? $($($field)*)?);
                        if found != expected {
                            return ::core::result::Result::Err($crate::DecodeError::WrongLength { offset, expected, found });
                        }
                        $($(let $item = $crate::Decode::decode(d)?;)*)?
                        $($(let $field = $crate::Decode::decode(d)?;)*)?
                        ::core::result::Result::Ok(Self::$variant $(( $($item),* ))? $({ $($field),* })?)
                    })*
                    tag => ::core::result::Result::Err($crate::DecodeError::UnknownVariant { offset, tag }),
                }
            }
        }
    };
}

/// How many names are listed.
#[doc(hidden)]
#[macro_export]
macro_rules! count_fields {
    () => { 0usize };
    ($first:ident $($rest:ident)*) => { 1usize + $crate::count_fields!($($rest)*) };
}
