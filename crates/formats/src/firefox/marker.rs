//! Events of the timeline, as that profiler's markers.

use fxprof_processed_profile::{
    CategoryHandle, MarkerFieldFlags, MarkerFieldFormat, MarkerLocations, MarkerTiming, Profile as Processed,
    StaticSchemaMarker, StaticSchemaMarkerField, StringHandle, Timestamp,
};
use quipu_profile::{Event, Profile};

/// An event: its name, and what is told of it.
#[derive(Debug, Clone)]
pub struct EventMarker {
    name: StringHandle,
    details: StringHandle,
}

impl EventMarker {
    /// The marker of an event.
    pub fn new(profile: &Profile, event: &Event, result: &mut Processed) -> EventMarker {
        let told = event.details.iter().map(|&(key, value)| match profile.str(key) {
            "what" => profile.str(value).to_owned(),
            key => format!("{key} {}", profile.str(value)),
        });
        let details = told.collect::<Vec<_>>().join(", ");
        EventMarker {
            name: result.intern_string(profile.str(event.name)),
            details: result.intern_string(&details),
        }
    }
}

/// When an event took place.
pub fn timing(event: &Event) -> MarkerTiming {
    let at = Timestamp::from_nanos_since_reference;
    match event.duration {
        0 => MarkerTiming::Instant(at(event.time)),
        lasted => MarkerTiming::Interval(at(event.time), at(event.time.saturating_add(lasted))),
    }
}

impl StaticSchemaMarker for EventMarker {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "event";
    const LOCATIONS: MarkerLocations = MarkerLocations::MARKER_CHART
        .union(MarkerLocations::MARKER_TABLE)
        .union(MarkerLocations::TIMELINE_OVERVIEW);
    const CHART_LABEL: Option<&'static str> = Some("{marker.data.details}");
    const TABLE_LABEL: Option<&'static str> = Some("{marker.name} {marker.data.details}");
    const FIELDS: &'static [StaticSchemaMarkerField] = &[StaticSchemaMarkerField {
        key: "details",
        label: "Details",
        format: MarkerFieldFormat::String,
        flags: MarkerFieldFlags::SEARCHABLE,
    }];

    fn name(&self, _: &mut Processed) -> StringHandle {
        self.name
    }

    fn category(&self, _: &mut Processed) -> CategoryHandle {
        CategoryHandle::OTHER
    }

    fn string_field_value(&self, _: u32) -> StringHandle {
        self.details
    }

    fn number_field_value(&self, _: u32) -> f64 {
        0.0
    }
}
