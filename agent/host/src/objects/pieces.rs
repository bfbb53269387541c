//! Objects of any size, piece by piece, from wherever the store is.

use super::folder::open_file;
use super::past::unchangeable;
use super::store::{Place, StateStore};
use quake_model::location::Location;
use quake_model::ports::{BucketReader, ObjectPiece, OpenObject, Reading};

impl BucketReader for StateStore {
    fn open_object<'a>(
        &'a self,
        location: &'a Location,
        piece: &'a ObjectPiece,
    ) -> Reading<'a, OpenObject> {
        Box::pin(async move {
            let location = &self.actual(location);
            match self.place(location)? {
                Place::Bucket(_) if self.past.is_some() => Err(unchangeable(location)),
                Place::Bucket(s3) => s3.open_object(location, piece).await,
                Place::Paths(paths) => open_file(location, &paths, piece),
            }
        })
    }
}
